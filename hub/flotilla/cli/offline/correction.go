package offline

import (
	"time"

	"flotilla/core/api"
	"flotilla/core/strict"
	"flotilla/core/validate"
	"flotilla/core/window"
)

// Corrected is a document as it would be accepted, or the faults that keep it from that.
func Corrected(d *Document) (string, strict.Faults, error) {
	decoded, faults := validate.Decode(d.Body)
	switch zones := ZoneFaults(&decoded); {
	case len(zones) > 0:
		return "", append(faults, zones...), nil
	case len(faults) == 0:
		text, err := strict.YAML(d.Body)
		return text, nil, err
	case decoded.Corrected != "":
		return decoded.Corrected, nil, nil
	default:
		return "", faults, nil
	}
}

// ZoneFaults are about time zones of budgets that nobody knows, which reading a document does not find.
func ZoneFaults(d *validate.Decoded) strict.Faults {
	return validate.NodePoolZones(validate.As[api.NodePool](d), window.Zones(time.LoadLocation).Known)
}
