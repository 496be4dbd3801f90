package cli

import (
	"time"

	"flotilla/core/api"
	"flotilla/core/strict"
	"flotilla/core/validate"
	"flotilla/core/window"
)

// corrected is a document as it would be accepted, or the faults that keep it from that.
func corrected(d *document) (string, strict.Faults, error) {
	decoded, faults := validate.Decode(d.body)
	switch zones := zoneFaults(&decoded); {
	case len(zones) > 0:
		return "", append(faults, zones...), nil
	case len(faults) == 0:
		text, err := strict.YAML(d.body)
		return text, nil, err
	case decoded.Corrected != "":
		return decoded.Corrected, nil, nil
	default:
		return "", faults, nil
	}
}

// zoneFaults are about time zones of budgets that nobody knows, which reading a document does not find.
func zoneFaults(d *validate.Decoded) strict.Faults {
	return validate.NodePoolZones(validate.As[api.NodePool](d), window.Zones(time.LoadLocation).Known)
}
