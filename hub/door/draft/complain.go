package draft

import (
	"flotilla/core/api"
	"flotilla/core/health"
)

// complain tells of a stored object that cannot be read and is left out.
func (d *Desk) complain(object string, revision uint64, err error) {
	if !d.complaints.First(object, revision) {
		return
	}
	d.options.Log.Error().Err(err).Str("object", object).Uint64("revision", revision).Msg("what is stored cannot be read")
	d.store.Audit.Record(api.Audit{
		Object: object, Type: "Warning", Reason: health.ReasonUnreadable, By: "door",
		Message: err.Error() + "; nothing is decided about it: apply or delete it",
	})
}
