// Certificates: list, and the form that starts one.
import { list, post } from "../api";
import { Age, LoadError, Loading, Panel, Value, Verdict } from "../parts/basics";
import { Field, Form, text } from "../parts/form";
import { Table, type Column } from "../parts/table";
import { MISSING, count, names } from "../format";
import { hashOf } from "../router";
import { mayOperate, useLoad, useSession } from "../session";
import type { Certificate } from "../types";

const FIELDS =
  "id,state,request,verdict,pairs_probed,pairs_failed,pairs_possible,started_at,issued_at,expires_at";

const COLUMNS: Column<Certificate>[] = [
  {
    title: "Certificate",
    cell: (one) => <a href={hashOf(["certificates", one.id])}>{one.id}</a>,
    sort: (one) => one.id,
  },
  {
    title: "Verdict",
    sort: (one) => one.verdict,
    cell: (one) =>
      one.state === "CERTIFICATE_STATE_RUNNING" ? "running…" : <Verdict value={one.verdict} />,
  },
  {
    title: "Job",
    sort: (one) => one.request.job_id,
    cell: (one) => <Value text={one.request.job_id || MISSING} why="no job named" />,
  },
  {
    title: "Nodes",
    numeric: true,
    sort: (one) => one.request.nodes.length,
    cell: (one) => count(one.request.nodes.length),
  },
  {
    title: "Pairs",
    numeric: true,
    minor: true,
    cell: (one) => `${count(one.pairs_probed)} of ${count(one.pairs_possible)}`,
  },
  { title: "Started", sort: (one) => one.started_at, cell: (one) => <Age at={one.started_at} /> },
];

function StartForm() {
  const submit = async (data: FormData) => {
    const within = text(data, "within");
    const certificate = await post<Certificate>("/v1/certificates", {
      request: {
        nodes: names(text(data, "nodes")),
        rails: names(text(data, "rails")).map(Number),
        job_id: text(data, "job"),
        within_seconds: within === "" ? 0 : Number(within),
      },
    });
    location.hash = hashOf(["certificates", certificate.id]);
  };
  return (
    <Form label="Certify" submit={submit}>
      <Field label="Nodes of the job">
        <textarea name="nodes" rows={3} required placeholder="gpu-0001, gpu-0002" />
      </Field>
      <div class="row">
        <Field label="Rails" hint=" empty: all">
          <input name="rails" size={8} pattern="[\d, ]*" />
        </Field>
        <Field label="Job" hint=" optional">
          <input name="job" size={12} />
        </Field>
        <Field label="Within seconds" hint=" default 60">
          <input name="within" type="number" min={1} size={6} />
        </Field>
      </div>
    </Form>
  );
}

export function CertificatesPage() {
  const { identity } = useSession();
  const { value, error } = useLoad(
    "certificates",
    (signal) =>
      list<Certificate>("/v1/certificates", "certificates", { fields: FIELDS }, 1000, signal),
    ["campaign"],
    5000,
  );
  return (
    <>
      <h1>Certificates</h1>
      <LoadError error={error} />
      <Panel title="Certificates">
        {!value ? (
          !error && <Loading />
        ) : (
          <Table
            rows={value.items}
            columns={COLUMNS}
            keyOf={(one) => one.id}
            caption="Certificates"
            empty="No certificate yet."
          />
        )}
      </Panel>
      <Panel title="Certify nodes before a job">
        {mayOperate(identity) ? (
          <StartForm />
        ) : (
          <p class="muted">To start a certificate, the role operator is needed.</p>
        )}
      </Panel>
    </>
  );
}
