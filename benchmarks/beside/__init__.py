"""Wellkept beside other memories: stories played through each, scored by the code of `wellkept eval stories`.

Every system gets the same texts, kinds and times, a new empty store for each story, and the vectors of the packaged
MiniLM. No language model is used and nothing is tuned: each has the defaults of its package.
"""
