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
