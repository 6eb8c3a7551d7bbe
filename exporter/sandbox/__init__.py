"""The sandbox: a simulated platform with the whole interface, so that everything runs without an account.

In: requests of the interface document. Out: the documented answers. It shares no code with the client, so that neither
hides an error of the other.

`sandbox_server.py` routes requests to `management_api.py`, `undocumented.py` and `database_endpoint.py`. The simulated
account is called the world: `world.py` and a module for each resource compute its values, which change with the clock;
`payloads/` and `seed.yaml` hold the constant parts. `databases.py` keeps the databases; `streams.py`, `hrana.py` and
`sql.py` execute statements on them. `faults.py` makes answers slow or wrong, `control.py` has the control endpoints.
"""
