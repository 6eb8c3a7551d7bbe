"""Edge scripts and their cost (interface document, EdgeScript)."""

from collections.abc import Mapping

from exporter.collectors.collector import Context, TargetCollector, identity
from exporter.label_values import enum_name
from exporter.metric import Metric, MonthToDate
from exporter.platform.api import scripting
from exporter.platform.api.scripting import SCRIPT_TYPE, EdgeScript
from exporter.platform.operation import Answer, Request
from exporter.platform.wire import timestamp
from exporter.targets.target import Target


async def fetch(context: Context, target: Target) -> Answer[EdgeScript]:
    """Read a script, and record its host names in the registry; raises PlatformError.

    If the target's attribute `read` is `update`, the script is read by an update without changes.
    """
    read = scripting.READ_BY_UPDATE if target.attributes.get("read") == "update" else scripting.READ
    answer = await context.caller.call(Request(read, {"id": int(target.id)}))
    script = answer.value
    host_names = {"default_hostname": script.default_hostname, "system_hostname": script.system_hostname}
    context.registry.record_facts(target.key, {label: name for label, name in host_names.items() if name})
    return answer


def _info(script: EdgeScript) -> dict[tuple[str, ...], int]:
    integration = script.integration
    repository = integration.repository_settings if integration is not None else None
    deployment = integration.deploy_configuration if integration is not None else None
    values = (
        enum_name(script.script_type, SCRIPT_TYPE),
        script.default_hostname,
        script.system_hostname,
        None if script.current_release_id is None else str(script.current_release_id),
        repository.name if repository is not None else None,
        deployment.branch if deployment is not None else None,
    )
    return {tuple(value or "" for value in values): 1}


def _variables_by_required(script: EdgeScript) -> Mapping[str, int] | None:
    if script.edge_script_variables is None:
        return None
    required = [variable.required is True for variable in script.edge_script_variables]
    return {"true": required.count(True), "false": required.count(False)}


def _cpu_seconds(script: EdgeScript) -> float | None:
    # The platform sends milliseconds.
    return None if script.monthly_cpu_time is None else script.monthly_cpu_time / 1000


def _month_to_date(value: float | None) -> MonthToDate | None:
    return None if value is None else MonthToDate(value)


COLLECTOR: TargetCollector[EdgeScript] = TargetCollector(
    name="scripts",
    polls="script",
    interval=900,
    operations=(scripting.READ, scripting.READ_BY_UPDATE),
    fetch=fetch,
    name_of=lambda script: script.name,
    labels=identity("script_id", "script"),
    metrics=(
        Metric(
            "edge_script_monthly_cost_dollars",
            "Cost of the script in the UTC month to date (MonthlyCost), polled.",
            value=lambda script: script.monthly_cost,
        ),
        Metric(
            "edge_script_monthly_requests",
            "Requests to the script in the UTC month to date (MonthlyRequestCount), polled.",
            value=lambda script: script.monthly_request_count,
        ),
        Metric(
            "edge_script_monthly_cpu_seconds",
            "CPU time of the script in the UTC month to date (MonthlyCpuTime), polled.",
            value=_cpu_seconds,
        ),
        Metric(
            "edge_script_cost_dollars_total",
            "Cost of the script since the exporter first saw it, counted from MonthlyCost, polled.",
            counted=lambda script: _month_to_date(script.monthly_cost),
        ),
        Metric(
            "edge_script_requests_total",
            "Requests to the script since the exporter first saw it, counted from MonthlyRequestCount, polled.",
            counted=lambda script: _month_to_date(script.monthly_request_count),
        ),
        Metric(
            "edge_script_cpu_seconds_total",
            "CPU time of the script since the exporter first saw it, counted from MonthlyCpuTime, polled.",
            counted=lambda script: _month_to_date(_cpu_seconds(script)),
        ),
        Metric(
            "edge_script_info",
            "The script's type, host names, release, repository and branch (ScriptType, DefaultHostname, "
            "SystemHostname, CurrentReleaseId, Integration), polled.",
            labels=("script_type", "default_hostname", "system_hostname", "release_id", "repository", "branch"),
            value=_info,
        ),
        Metric(
            "edge_script_last_modified_timestamp_seconds",
            "When the script was last changed (LastModified), polled.",
            value=lambda script: timestamp(script.last_modified),
        ),
        Metric(
            "edge_script_deleted",
            "Whether the script is marked as deleted (Deleted), polled.",
            value=lambda script: script.deleted,
        ),
        Metric(
            "edge_script_variables",
            "Variables of the script, required or not (EdgeScriptVariables), polled.",
            labels=("required",),
            value=_variables_by_required,
        ),
        Metric(
            "edge_script_linked_pull_zones",
            "Pull zones that the script is linked to (LinkedPullZones), polled.",
            value=lambda script: None if script.linked_pull_zones is None else len(script.linked_pull_zones),
        ),
    ),
)
