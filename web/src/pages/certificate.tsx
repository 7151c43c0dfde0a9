// One certificate: verdict, evidence of each node, what is not covered, signature.
import { get } from "../api";
import { Blame } from "../parts/blame";
import {
  Age,
  Command,
  Empty,
  Facts,
  Gaps,
  LoadError,
  Loading,
  NodeLink,
  Panel,
  Value,
  Verdict,
} from "../parts/basics";
import { Table } from "../parts/table";
import { MISSING, count, dateTime } from "../format";
import { hashOf } from "../router";
import { useLoad } from "../session";
import type { Certificate } from "../types";

interface Signed {
  protected_header: string;
  payload: string;
  signature: string;
}

export function CertificatePage({ id }: { id: string }) {
  const { value, error } = useLoad(
    `certificate ${id}`,
    (signal) =>
      get<{ certificate: Certificate; signed?: Signed }>(
        `/v1/certificates/${encodeURIComponent(id)}`,
        {},
        signal,
      ),
    ["campaign"],
    2000,
  );
  if (!value)
    return (
      <>
        <h1>Certificate {id}</h1>
        <Loading error={error} />
      </>
    );
  const { certificate, signed } = value;
  const running = certificate.state === "CERTIFICATE_STATE_RUNNING";
  return (
    <>
      <nav class="crumbs" aria-label="Path">
        <a href={hashOf(["certificates"])}>Certificates</a> / {id}
      </nav>
      <h1>
        {running ? (
          "Certificate in progress"
        ) : (
          <>
            Certificate <Verdict value={certificate.verdict} />
          </>
        )}
      </h1>
      <LoadError error={error} />
      <Facts
        rows={[
          ["Job", <Value text={certificate.request.job_id || MISSING} why="no job named" />],
          ["Nodes", count(certificate.request.nodes.length)],
          [
            "Rails",
            certificate.rails.length > 0 ? (
              certificate.rails.join(", ")
            ) : (
              <Value text={MISSING} why="none probed" />
            ),
          ],
          [
            "Pairs probed",
            `${count(certificate.pairs_probed)} of ${count(certificate.pairs_possible)}, ${count(certificate.pairs_failed)} failed`,
          ],
          ["Started", dateTime(certificate.started_at)],
          [
            "Issued",
            <>
              {certificate.issued_at ? (
                dateTime(certificate.issued_at)
              ) : (
                <Value text={MISSING} why="in progress" />
              )}
            </>,
          ],
          [
            "Expires",
            <>
              {certificate.expires_at ? (
                dateTime(certificate.expires_at)
              ) : (
                <Value text={MISSING} why="in progress" />
              )}
            </>,
          ],
          ["Issuer", certificate.issuer],
          [
            "Campaign",
            certificate.campaign ? (
              <a href={hashOf(["campaigns", certificate.campaign])}>{certificate.campaign}</a>
            ) : (
              <Value text={MISSING} why="nothing was probed" />
            ),
          ],
        ]}
      />
      {certificate.end_reason !== "" && <p class="error">Ended early: {certificate.end_reason}</p>}
      {certificate.evidence.length > 0 && (
        <Panel title="Not decided">
          <ul class="plain">
            {certificate.evidence.map((line) => (
              <li key={line}>{line}</li>
            ))}
          </ul>
        </Panel>
      )}
      <Panel title="Nodes">
        <Table
          rows={certificate.nodes}
          keyOf={(node) => node.name}
          caption="Nodes of the certificate"
          empty={running ? "Known when the probes end." : "No node."}
          columns={[
            {
              title: "Node",
              cell: (node) => <NodeLink name={node.name} />,
              sort: (node) => node.name,
            },
            {
              title: "Verdict",
              cell: (node) => <Verdict value={node.verdict} />,
              sort: (node) => node.verdict,
            },
            { title: "Ports", numeric: true, cell: (node) => node.ports },
            {
              title: "Why",
              cell: (node) => (
                <>
                  {[...node.reasons, ...node.evidence].length === 0 ? (
                    <span class="muted">no fault found</span>
                  ) : (
                    <ul class="plain">
                      {[...node.reasons, ...node.evidence].map((line) => (
                        <li key={line}>{line}</li>
                      ))}
                    </ul>
                  )}
                  {node.findings.map((finding) => (
                    <a key={finding} class="chip" href={hashOf(["findings", finding])}>
                      <code>{finding}</code>
                    </a>
                  ))}
                </>
              ),
            },
          ]}
        />
      </Panel>
      <Panel title="Fault location">
        <Blame report={certificate.blame} />
      </Panel>
      <Panel title="Not covered">
        {certificate.not_covered.length === 0 ? (
          <Empty>{running ? "Known when the probes end." : "Nothing was left out."}</Empty>
        ) : (
          <Gaps gaps={certificate.not_covered} omitted={certificate.not_covered_omitted} />
        )}
      </Panel>
      {signed && (
        <Panel title="Signature">
          <p>
            JSON Web Signature; the key is at <a href="/certificate-key.pem">certificate-key.pem</a>
            . Issued <Age at={certificate.issued_at} /> ago.
          </p>
          <Command
            text={JSON.stringify({
              protected: signed.protected_header,
              payload: signed.payload,
              signature: signed.signature,
            })}
            what="signed certificate"
          />
        </Panel>
      )}
    </>
  );
}
