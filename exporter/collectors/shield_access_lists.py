"""Custom access lists (interface document, CustomAccessList)."""

from exporter.collectors.collector import TargetCollector, calling, identity, own_id
from exporter.metric import Metric
from exporter.platform.api import shield
from exporter.platform.api.shield_models import CustomAccessList
from exporter.platform.wire import timestamp

COLLECTOR: TargetCollector[CustomAccessList] = TargetCollector(
    name="shield_access_lists",
    polls="access_list",
    interval=900,
    operations=(shield.ACCESS_LIST,),
    fetch=calling(shield.ACCESS_LIST, shieldZoneId=lambda target: target.attributes["shield_zone_id"], id=own_id),
    name_of=lambda access_list: access_list.name,
    labels=identity("access_list_id", "access_list", within="shield_zone_id"),
    metrics=(
        Metric(
            "edge_shield_access_list_entries",
            "Entries of the access list (entryCount), polled.",
            value=lambda access_list: access_list.entry_count,
        ),
        Metric(
            "edge_shield_access_list_last_modified_timestamp_seconds",
            "When the access list was last changed (lastModified), polled.",
            value=lambda access_list: timestamp(access_list.last_modified),
        ),
        Metric(
            "edge_shield_access_list_info",
            "The checksum of the access list's content (checksum), polled.",
            labels=("checksum",),
            value=lambda access_list: {access_list.checksum: 1} if access_list.checksum else None,
        ),
    ),
)
