// The pages that the browser test visits, with a text that each shows when its data is there.
export const WIDTHS = [360, 768, 1280];

export const pagesOf = ({ campaign, certificate, finding, schedule }) => [
  ["overview", "#/", "What is wrong, by cause"],
  ["nodes", "#/nodes", "gpu-0001"],
  ["node", "#/nodes/gpu-0017", "Counters of the last hour"],
  ["port", "#/nodes/gpu-0300/mlx5_1/1", "Throughput"],
  ["findings", "#/findings", "pfc_covers_roce_dscp"],
  ["findings-unknown", "#/findings?unknown=1&severity=error", "could not be read"],
  ["finding", `#/findings/${finding}`, "How to fix it"],
  ["campaigns", "#/campaigns", campaign],
  ["campaign", `#/campaigns/${campaign}`, "Against the median"],
  ["schedules", "#/schedules", "30 2 * * 1-5"],
  ["schedule", `#/schedules/${schedule}`, "Runs of the last 24 hours"],
  ["silences", "#/silences", "firmware update"],
  ["matrix", `#/campaigns/${campaign}/matrix`, "Whole matrix"],
  ["matrix-blame", `#/campaigns/${campaign}/matrix?sort=blame`, "Whole matrix"],
  ["topology", "#/topology", "Rail 0"],
  ["topology-leaf", "#/topology?rail=0&leaf=r0-leaf02", "Leaf port"],
  ["topology-subnet", "#/topology?subnet=mlx5_9%2F1&switch=ib-pod-1+leaf-1", "Cables of the switch"],
  ["topology-files", "#/topology?subnet=subnet&switch=leaf-1", "Cables of the switch"],
  ["subnets", "#/subnets", "errors at switch"],
  ["certificates", "#/certificates", certificate],
  ["certificate", `#/certificates/${certificate}`, "Signature"],
  ["rules", "#/rules?filter=lossless", "rules"],
  ["audit", "#/audit", "CreateSchedule"],
  ["identity", "#/identity", "Use token"],
];
