"""Edge scripts and their secrets (interface document, EdgeScript and ScriptSecret)."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated

from pydantic import SecretStr, TypeAdapter

from exporter.platform.operation import Operation, Parameter
from exporter.platform.wire import Integer, Moment, Number, PascalWire, enum_of

SCRIPT_TYPE: Mapping[int, str] = {0: "dns", 1: "cdn", 2: "middleware"}


class Variable(PascalWire):
    """A script's variable; the default value may be a secret."""

    id: Integer = None
    name: str | None = None
    required: bool | None = None
    default_value: SecretStr | None = None


class LinkedPullZone(PascalWire):
    """A pull zone that a script serves."""

    id: Integer = None
    pull_zone_name: str | None = None
    default_hostname: str | None = None


class RepositorySettings(PascalWire):
    """The repository that a script is deployed from."""

    id: Integer = None
    name: str | None = None
    private: bool | None = None
    template_url: str | None = None


class DeployConfiguration(PascalWire):
    """How a script is built and deployed."""

    branch: str | None = None
    install_command: str | None = None
    build_command: str | None = None
    entry_file: str | None = None
    create_workflow: bool | None = None


class Integration(PascalWire):
    """A script's link to a repository."""

    integration_id: Integer = None
    repository_settings: RepositorySettings | None = None
    deploy_configuration: DeployConfiguration | None = None


class EdgeScript(PascalWire):
    """A script, with the cost (dollars), requests and CPU time (milliseconds) of the month to date."""

    id: Integer = None
    name: str | None = None
    last_modified: Moment = None
    script_type: Annotated[Integer, enum_of("ScriptType", SCRIPT_TYPE)] = None
    current_release_id: Integer = None
    edge_script_variables: list[Variable] | None = None
    deleted: bool | None = None
    linked_pull_zones: list[LinkedPullZone] | None = None
    integration: Integration | None = None
    default_hostname: str | None = None
    system_hostname: str | None = None
    deployment_key: SecretStr | None = None
    repository_id: Integer = None
    integration_id: Integer = None
    monthly_cost: Number | None = None
    monthly_request_count: Number | None = None
    monthly_cpu_time: Number | None = None


class ScriptSecret(PascalWire):
    """The answer of add-secret, which does not contain the secret."""

    id: Integer = None
    name: str | None = None
    last_modified: Moment = None


_SCRIPT_ID = Parameter("id", "path", "integer", "Script id.")

UPDATE = Operation(
    name="script_update",
    method="POST",
    path="/compute/script/{id}",
    help="Updates a script's settings and returns the script.",
    answer=TypeAdapter(EdgeScript),
    parameters=(_SCRIPT_ID, Parameter("Name", "body", "string", "The script's new name.", required=False)),
    writes=True,
)

# An update that names no field to change. It returns the script, and is treated as a read. The interface document does
# not say that omitted fields keep their values, so polls use this operation only with `scripts: {read: update}`.
READ_BY_UPDATE = replace(
    UPDATE,
    name="script_read_by_update",
    help="Reads a script by an update without changes; polls send this request only with `read: update`.",
    parameters=(_SCRIPT_ID,),
    writes=False,
)

# The interface document does not contain this operation, but some deployments have it.
READ = replace(
    READ_BY_UPDATE,
    name="script",
    method="GET",
    help="A script, with the month's cost, requests and CPU time.",
    documented=False,
)

ADD_SECRET = Operation(
    name="script_add_secret",
    method="POST",
    path="/compute/script/{id}/secrets",
    help="Adds a named secret to a script.",
    answer=TypeAdapter(ScriptSecret),
    parameters=(
        _SCRIPT_ID,
        Parameter("Name", "body", "string", "The secret's name."),
        Parameter("Secret", "body", "string", "The secret's value.", secret=True),
    ),
    writes=True,
)
