"""What dalsegno does, in operations over named statements. Each speaks to `dalsegno.contracts`, never to a store."""
