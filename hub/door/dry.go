package door

import (
	"encoding/json"

	"flotilla/core/api"
)

// dryRuns are the verbs of which somebody may ask what they would do. Of others dryRun says nothing: they do it.
var dryRuns = map[string]bool{
	api.VerbApply: true, api.VerbPatch: true, api.VerbDelete: true, api.VerbDeleteNode: true, api.VerbFreeze: true, api.VerbUnfreeze: true,
	api.VerbApproveWithdrawal: true, api.VerbEnrol: true,
	api.VerbRolloutUndo: true, api.VerbRolloutPause: true, api.VerbRolloutResume: true, api.VerbRolloutRestart: true,
}

// dry says that a request asks for no more than what would be done.
func dry(verb string, body []byte) bool {
	var request struct {
		DryRun bool `json:"dryRun"`
	}
	return dryRuns[verb] && json.Unmarshal(body, &request) == nil && request.DryRun
}
