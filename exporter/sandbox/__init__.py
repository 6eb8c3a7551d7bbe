"""The sandbox: a simulated platform with the whole interface, so that everything runs without an account.

The sandbox shares no code with the client, so that neither hides an error of the other.

`sandbox_server.py` routes requests to `management_api.py`, `undocumented.py`, `database_endpoint.py` and `control.py`.
`faults.py` makes answers slow or wrong. The simulated account is called the world: `world.py` creates its resources,
whose values change with the clock; `payloads/` and `seed.yaml` contain constant data.
"""
