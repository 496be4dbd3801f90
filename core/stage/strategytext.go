package stage

import (
	"bytes"
	"encoding/json"
	"strings"

	"flotilla/core/api"
)

// StrategyText is the strategy that a run copied, as JSON for people.
func StrategyText(status *api.UpdateRunStatus) string {
	var strategy any = &status.Strategy
	if status.Content != nil {
		strategy = &status.Content.Strategy
	}
	var out bytes.Buffer
	text := json.NewEncoder(&out)
	text.SetEscapeHTML(false)
	text.SetIndent("", "  ")
	if err := text.Encode(strategy); err != nil {
		return err.Error()
	}
	return strings.TrimSpace(out.String())
}
