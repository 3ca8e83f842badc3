{{- define "loadstone.labels" -}}
app.kubernetes.io/name: loadstone
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "loadstone.claim" -}}
{{ .Values.runs.existingClaim | default (printf "%s-runs" .Release.Name) }}
{{- end }}

{{/* What both containers have in common. */}}
{{- define "loadstone.container" -}}
image: {{ printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
env:
  - name: TARGET
    value: {{ .Values.target | quote }}
  - name: LOADSTONE_PASSWORD
    valueFrom:
      secretKeyRef:
        name: {{ .Values.password.secretName }}
        key: {{ .Values.password.key }}
resources:
  requests: {cpu: {{ .Values.cpu | quote }}, memory: {{ .Values.memory }}}
  limits: {cpu: {{ .Values.cpu | quote }}, memory: {{ .Values.memory }}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
volumeMounts:
  # The user's home: runs, and what Loadstone keeps from one command to the next.
  - {name: home, mountPath: /var/lib/loadstone}
  - {name: tmp, mountPath: /tmp}
{{- if .Values.experiment }}
  - {name: experiment, mountPath: /etc/loadstone, readOnly: true}
{{- end }}
{{- end }}

{{/* Options of the metrics, for run and experiment alike. */}}
{{- define "loadstone.metrics" -}}
{{- $options := list -}}
{{- if .Values.metricsPort }}{{ $options = concat $options (list "--metrics" (printf "0.0.0.0:%d" (int .Values.metricsPort))) }}{{ end -}}
{{- with .Values.push.otlp }}{{ $options = concat $options (list "--otlp" .) }}{{ end -}}
{{- with .Values.push.remoteWrite }}{{ $options = concat $options (list "--remote-write" .) }}{{ end -}}
{{- toJson $options -}}
{{- end }}
