package show

import "flotilla/core/api"

// Unseen refuses to let somebody read a kind beyond their role.
func Unseen(by api.Caller, apiVersion, kind string) error {
	if needed := api.NeededToRead(apiVersion, kind); !by.Role.Covers(needed) {
		return api.Forbidden(by, needed, "reading objects of kind "+kind)
	}
	return nil
}

// seeing refuses values of Secrets to whoever may not read Secrets.
func seeing(by api.Caller, wanted bool) error {
	if wanted && !by.Role.Covers(api.RoleOperator) {
		return api.Forbidden(by, api.RoleOperator, "reading values of Secrets")
	}
	return nil
}
