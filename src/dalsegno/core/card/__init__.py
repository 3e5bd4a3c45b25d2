"""The handover card: what whoever goes on with a conversation has to know, each entry with its evidence.

The rules stand at the head of the modules: what an entry is (`entries`), what is heard in one event (`findings`,
`listening` and its words), how findings become a card (`standing`), how a card goes along (`advancing`), what may be
said without a model's or an agent's word for it (`gate`), and how it is shown and packed (`rendering`, `packing`).
"""
