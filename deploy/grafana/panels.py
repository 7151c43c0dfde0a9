"""Parts of dashboards of Grafana: queries, panels, variables, annotations."""

SOURCE = {"type": "prometheus", "uid": "${datasource}"}
NODE = 'node=~"$node"'
PORT = "{{node}} {{device}}/{{port}}"
NETDEV = "{{node}} {{netdev}}"
RAIL = 'rail=~"$rail"'
RAIL_NETDEV = "and on (instance, netdev) fabric_port_info"


def rate(metric, labels=NODE):
    return f"rate({metric}{{{labels}}}[$__rate_interval])"


def increase(metric, labels=NODE):
    return f"increase({metric}{{{labels}}}[$__rate_interval])"


def top(expression):
    """The 20 highest series: a panel with all ports of a large fleet is unreadable."""
    return f"topk(20, {expression})"


STAT = {"colorMode": "value", "graphMode": "none", "textMode": "auto",
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False}}
LINES = {"legend": {"displayMode": "list", "placement": "bottom", "showLegend": True},
         "tooltip": {"mode": "multi", "sort": "desc"}}
CUSTOM = {"drawStyle": "line", "lineWidth": 1, "fillOpacity": 0, "lineInterpolation": "linear",
          "showPoints": "never", "stacking": {"mode": "none", "group": "A"}}
OPTIONS = {
    "stat": STAT, "timeseries": LINES,
    "bargauge": {"displayMode": "basic", "orientation": "horizontal", "showUnfilled": True,
                 "reduceOptions": STAT["reduceOptions"]},
    "state-timeline": {"mergeValues": True, "showValue": "never", "rowHeight": 0.8,
                       "legend": LINES["legend"]},
}
# fabric_port_state_id
PORT_STATES = {str(state): {"text": text, "color": color, "index": state}
               for state, text, color in (
                   (1, "DOWN", "red"), (2, "INIT", "orange"), (3, "ARMED", "yellow"),
                   (4, "ACTIVE", "green"), (5, "ACTIVE_DEFER", "yellow"))}
COLUMNS = 24


def variable(name, label, kind, **more):
    return {"name": name, "label": label, "type": kind, "hide": 0, "regex": "", **more}


def values_of(name, label, metric):
    """A variable with the values of a label, several of which can be chosen."""
    definition = f"label_values({metric}, {name})"
    return variable(name, label, "query", datasource=SOURCE, definition=definition,
                    query={"query": definition, "refId": name},
                    refresh=2, sort=3, multi=True, includeAll=True, allValue=".*",
                    current={"text": ["All"], "value": ["$__all"], "selected": True}, options=[])


def variables(uid):
    made = [variable("datasource", "Data source", "datasource", query="prometheus", refresh=1,
                     multi=False, includeAll=False, current={}, options=[]),
            values_of("node", "Node", "fabric_agent_info")]
    if uid == "fabricd-rail":
        made.append(values_of("rail", "Rail", "fabric_rail_ports"))
    return made


def annotation(name, color, expression, title):
    """A mark at the times for which the query has a value."""
    return {"name": name, "datasource": SOURCE, "enable": True, "hide": False, "iconColor": color,
            "expr": expression, "step": "60s", "titleFormat": title, "useValueForTime": False}


OPEN = f'sum by (node, rule) (fabric_node_findings_open{{severity=~"critical|error", {NODE}}}'
ANNOTATIONS = [
    annotation("Findings opened", "red", f"{OPEN}) unless {OPEN} offset 1m)",
               "{{rule}} on {{node}}"),
    annotation("Campaigns started or ended", "blue",
               'changes(fabric_campaigns{state="running"}[1m]) > 0', "probe campaigns"),
    annotation("fabricd started", "orange",
               "changes(fabric_controller_start_time_seconds[2m]) > 0", "fabricd started"),
]


def head(uid):
    """What all dashboards have in common. `uid` stays the same, so that links and updates work."""
    return {"uid": uid, "annotations": {"list": ANNOTATIONS},
            "links": [{"type": "dashboards", "title": "fabricd", "tags": ["fabricd"],
                       "asDropdown": True, "keepTime": True, "includeVars": True}]}


def thresholds(color):
    """Green, and the color from 1 on, if one is given."""
    steps = [{"color": "green", "value": None}] + ([{"color": color, "value": 1}] if color else [])
    return {"mode": "absolute", "steps": steps}


def defaults_of(kind, unit, looks):
    made = {"unit": unit}
    if kind == "state-timeline":
        return made | {"mappings": [{"type": "value", "options": PORT_STATES}]}
    if kind == "timeseries":
        custom = dict(CUSTOM)
        if looks.get("steps"):
            custom["lineInterpolation"] = "stepAfter"
        if looks.get("stacked"):
            custom |= {"fillOpacity": 20, "stacking": {"mode": "normal", "group": "A"}}
        made["custom"] = custom
    if kind in ("timeseries", "bargauge") and unit != "none":
        made["min"] = 0
    if "alarm" in looks:
        made["thresholds"] = thresholds(looks["alarm"])
    return made


def panel(number, place, spec):
    title, description, unit, queries, *more = spec
    looks = more[0] if more else {}
    kind = "stat" if unit.startswith("stat:") else looks.get("kind", "timeseries")
    defaults = defaults_of(kind, unit.removeprefix("stat:"), looks)
    return {"id": number, "type": kind, "title": title,
            "description": description, "datasource": SOURCE, "gridPos": place,
            "fieldConfig": {"defaults": defaults, "overrides": []},
            "options": OPTIONS[kind],
            "targets": [{"refId": chr(ord("A") + at), "datasource": SOURCE, "editorMode": "code",
                         "expr": expression, "legendFormat": legend,
                         ("instant" if kind in ("stat", "bargauge") else "range"): True}
                        for at, (expression, legend) in enumerate(queries)]}


def places(specs, y):
    """The place of each panel of a row, from left to right, and the height of all."""
    made, x, start, height = [], 0, y, 0
    for spec in specs:
        looks = spec[4] if len(spec) > 4 else {}
        w, h = looks.get("width", 12), looks.get("height", 8)
        if x + w > COLUMNS:
            x, y, height = 0, y + height, 0
        made.append({"h": h, "w": w, "x": x, "y": y})
        x, height = x + w, max(height, h)
    return made, y + height - start


def panels(rows):
    made, top_of_row = [], 0
    for title, specs in rows:
        made.append({"id": len(made) + 1, "type": "row", "title": title + ":", "collapsed": False,
                     "gridPos": {"h": 1, "w": COLUMNS, "x": 0, "y": top_of_row}, "panels": []})
        found, height = places(specs, top_of_row + 1)
        for place, spec in zip(found, specs):
            made.append(panel(len(made) + 1, place, spec))
        top_of_row += 1 + height
    return made


def board(uid, title, description, rows):
    return {"title": title, "description": description, "tags": ["rdma", "fabricd"], "id": None,
            "schemaVersion": 39, "version": 1, "editable": True, "graphTooltip": 1,
            "refresh": "30s", "time": {"from": "now-1h", "to": "now"}, "timepicker": {},
            "timezone": "", **head(uid),
            "templating": {"list": variables(uid)}, "panels": panels(rows)}
