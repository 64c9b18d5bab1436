"""
What the client does, without doing it: operations are generators that yield what they need (a request, a pause, a token) and get
the answer back. `Client` and `AsyncClient` carry the same operations out, so that they cannot differ.
"""
