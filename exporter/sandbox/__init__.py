"""The sandbox: a simulated platform with the whole interface, so that the exporter and its tests need no account.

The sandbox shares no code with the client in `platform/`, so that tests find an error that only one of them has.

`sandbox_server.py` routes requests to `management_api.py`, `undocumented.py`, `database_endpoint.py` and `control.py`.
`faults.py` makes answers slow or wrong. The simulated account is called the world. `world.py` creates its resources,
and `world_clock.py` has its time. `payloads/` and `seed.yaml` contain constant data.
"""
