"""A topic of several hundred turns is left, edited, and taken up again with one sentence, on dalsegno's public API."""
