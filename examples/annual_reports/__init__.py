"""An analyst of annual reports: a supervisor graph, a retrieval subgraph, a calculator; every statement with its page.

python -m examples.annual_reports ingest DIR
python -m examples.annual_reports chat
python -m examples.annual_reports ask "What was Alder Mining's revenue in FY2024?"
python -m examples.annual_reports trace "And its dividend?"
python -m examples.annual_reports serve
python -m examples.annual_reports selftest
python -m examples.annual_reports measure
"""
