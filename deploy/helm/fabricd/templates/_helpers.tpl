{{- /* The values as YAML, with the defaults of this chart for those that are absent: `helm upgrade
--reuse-values` gives the values of an older chart. Sprig's merge would replace false and "". */}}
{{- define "fabricd.values" -}}
{{- $values := deepCopy .Values }}
{{- $defaults := .Files.Get "files/values.yaml" | fromYaml }}
{{- include "fabricd.addDefaults" (dict "values" $values "defaults" $defaults "path" "") }}
{{- toYaml $values }}
{{- end }}
{{- define "fabricd.addDefaults" -}}
{{- range $key, $default := .defaults }}
{{- $value := index $.values $key }}
{{- if kindIs "invalid" $value }}
{{- $_ := set $.values $key $default }}
{{- /* Who sets resources.limits to null wants none. */}}
{{- else if and (kindIs "map" $default) (ne $key "resources") }}
{{- $path := printf "%s%s" $.path $key }}
{{- if not (kindIs "map" $value) }}
{{- fail (printf "%s: expected a map, saw %v" $path $value) }}
{{- end }}
{{- include "fabricd.addDefaults" (dict "values" $value "defaults" $default "path" (printf "%s." $path)) }}
{{- end }}
{{- end }}
{{- end }}
{{- define "fabricd.labels" -}}
app.kubernetes.io/name: {{ .name }}
app.kubernetes.io/component: {{ .component }}
app.kubernetes.io/part-of: fabricd
{{- end }}
{{- define "fabricd.image" -}}
{{ .image.repository }}:{{ .image.tag | default .root.Chart.AppVersion }}
{{- end }}
{{- define "fabricd.tlsArguments" -}}
- --tls-cert=/etc/fabricd/tls/cert.pem
- --tls-key=/etc/fabricd/tls/key.pem
- --tls-ca=/etc/fabricd/tls/ca.pem
{{- end }}
