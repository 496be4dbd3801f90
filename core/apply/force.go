package apply

import "flotilla/core/api"

// Forced says whether fields that others own are taken over, rather than being a conflict: always with
// ClientSideApply, the default, which knows no owners of fields, and with ServerSideApply where it says so.
func Forced(s *api.ApplyStrategy) bool {
	if s == nil || s.Type != api.ApplyServerSide {
		return true
	}
	return s.ServerSideApplyConfig != nil && s.ServerSideApplyConfig.Force
}
