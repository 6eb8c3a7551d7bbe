"""A local platform with the whole interface, so that everything runs without an account.

`sandbox_server.py` routes requests to `management_api.py`, `undocumented.py` and `database_endpoint.py`. `world.py` and
the modules of each resource hold the state, which changes with the clock, and `payloads/` what does not. `databases.py`
keeps the databases, of which `streams.py`, `hrana.py` and `sql.py` execute statements. `faults.py` makes answers slow
or wrong. `control.py` controls it.

In: requests of the interface document. Out: its documented answers. It shares no code with the client.
"""
