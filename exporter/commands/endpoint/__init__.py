"""`endpoint`: tries configured endpoints on the platform, and proposes metrics for an answer.

In: a file of endpoints, or an answer. Out: the call, the answer shortened, what each expression reads, and the
exposition; or a file of endpoints to begin with. Nothing is written, and no secret is printed.
"""
