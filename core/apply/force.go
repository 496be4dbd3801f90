package apply

import "flotilla/core/api"

// Forced says whether fields that others own are taken over, rather than being a conflict: always with
// ClientSideApply, which knows no owners of fields, and with ServerSideApply where it says so.
func Forced(s *api.ApplyStrategy) bool {
	switch {
	case s == nil:
		return false
	case s.Type == api.ApplyServerSide:
		return s.ServerSideApplyConfig != nil && s.ServerSideApplyConfig.Force
	}
	return true
}
