// Rules that are evaluated, with the reason and source of each.
import { list } from "../api";
import { LoadError, Loading, Severity } from "../parts/basics";
import { FilterBox } from "../parts/filter_box";
import { byName, count, word } from "../format";
import { hashOf, type Route } from "../router";
import { useLoad } from "../session";
import type { Finding, RuleInfo } from "../types";

export function matches(rule: RuleInfo, text: string): boolean {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const all =
    `${rule.id} ${rule.title} ${rule.family} ${word(rule.severity, "SEVERITY")} ${rule.why}`.toLowerCase();
  return words.every((one) => all.includes(one));
}

export function RulesPage({ route }: { route: Route }) {
  const { value, error } = useLoad(
    "rules",
    async (signal) => {
      const rules = await list<RuleInfo>("/v1/rules", "rules", {}, 10_000, signal);
      const findings = await list<Finding>(
        "/v1/findings",
        "findings",
        { fields: "rule" },
        5000,
        signal,
      );
      const open = new Map<string, number>();
      for (const { rule } of findings.items) open.set(rule, (open.get(rule) ?? 0) + 1);
      return { rules: rules.items, open };
    },
    ["finding"],
    60_000,
  );
  const text = route.query.filter ?? "";
  const shown = value?.rules.filter((rule) => matches(rule, text)) ?? [];
  const families = [...new Set(shown.map((rule) => rule.family))].sort(byName);
  return (
    <>
      <h1>Rules {value && <small>{count(shown.length)}</small>}</h1>
      <div class="toolbar">
        <FilterBox route={route} label="Filter of rules" hint="words: pfc, critical, infiniband" />
      </div>
      <LoadError error={error} />
      {!value && !error && <Loading />}
      {value && shown.length === 0 && <p class="empty">No rule matches.</p>}
      {families.map((family) => (
        <section key={family} class="panel">
          <header>
            <h2>{family || "custom"}</h2>
          </header>
          {shown
            .filter((rule) => rule.family === family)
            .map((rule) => (
              <details key={rule.id} open={shown.length <= 3}>
                <summary>
                  <Severity value={rule.severity} />{" "}
                  <span>
                    {rule.title} <code>{rule.id}</code>
                  </span>
                  {(value!.open.get(rule.id) ?? 0) > 0 && (
                    <span class="chip">{value!.open.get(rule.id)} open</span>
                  )}
                </summary>
                <dl class="facts stacked">
                  {(value!.open.get(rule.id) ?? 0) > 0 && (
                    <div>
                      <dt>Open</dt>
                      <dd>
                        <a href={hashOf(["findings"], { filter: `rule="${rule.id}"` })}>
                          {value!.open.get(rule.id)} findings
                        </a>
                      </dd>
                    </div>
                  )}
                  <div>
                    <dt>Why</dt>
                    <dd>{rule.why}</dd>
                  </div>
                  <div>
                    <dt>Fix</dt>
                    <dd>{rule.fix || "–"}</dd>
                  </div>
                  <div>
                    <dt>Needs</dt>
                    <dd>{rule.needs || "–"}</dd>
                  </div>
                  <div>
                    <dt>Scope</dt>
                    <dd>{word(rule.scope, "SCOPE")}</dd>
                  </div>
                  <div>
                    <dt>Source</dt>
                    <dd>{rule.source || "–"}</dd>
                  </div>
                  {rule.profile_values.length > 0 && (
                    <div>
                      <dt>Profile</dt>
                      <dd>{rule.profile_values.join(", ")}</dd>
                    </div>
                  )}
                </dl>
              </details>
            ))}
        </section>
      ))}
    </>
  );
}
