package api

import (
	"slices"
	"strings"
)

// AgentLabels says which labels of a member its agent decides. The zero value is that of a member whose labels people wrote.
type AgentLabels struct {
	// Stated are the keys, sorted, of the labels that the agent states and nobody wrote.
	Stated []string
	// Allowed are the patterns of the keys that the agent may state: a key, "prefix/*", or "*".
	Allowed []string
}

// AgentLabelsOf reads which of the labels of a member nobody wrote, and which ones its agent may state.
func AgentLabelsOf(mc *MemberCluster, labels map[string]string) AgentLabels {
	var a AgentLabels
	for key, value := range labels {
		if written, found := mc.Labels[key]; key != LabelMemberName && (!found || written != value) {
			a.Stated = append(a.Stated, key)
		}
	}
	slices.Sort(a.Stated)
	if text := mc.Annotations[AnnotationAgentLabels]; text != "" {
		a.Allowed = strings.Split(text, ",")
	}
	return a
}

// Decides reports whether the agent decides a label: it states it, or may state it while the member has none.
func (a *AgentLabels) Decides(labels map[string]string, key string) bool {
	if _, found := labels[key]; found {
		return slices.Contains(a.Stated, key)
	}
	return key != LabelMemberName && AllowsLabel(a.Allowed, key)
}

// AllowsLabel matches the key of a label against patterns: a key, "prefix/*", or "*".
func AllowsLabel(patterns []string, key string) bool {
	for _, p := range patterns {
		p = strings.TrimSpace(p)
		prefix, open := strings.CutSuffix(p, "*")
		switch {
		case p == "":
		case p == "*", p == key:
			return true
		case open && strings.HasSuffix(prefix, "/") && strings.HasPrefix(key, prefix):
			return true
		}
	}
	return false
}
