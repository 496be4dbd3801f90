package configs

import (
	"fmt"

	"flotilla/core/api"
	"flotilla/core/validate"
)

// LoadInstances reads the InstanceCatalog that the YAML of a file holds, alone. The error is strict.Faults, every one with
// its path and the place in the file, or Problems when the text is no YAML.
func LoadInstances(source string, text []byte) (*api.InstanceCatalog, error) {
	docs, err := Parse(source, text)
	if err != nil {
		return nil, err
	}
	if len(docs) != 1 {
		return nil, fmt.Errorf("%s: found %d documents, expected one InstanceCatalog", source, len(docs))
	}
	decoded, faults := validate.DecodeInstances(docs[0].JSON)
	for i := range faults {
		faults[i].File = source
		docs[0].Place(&faults[i])
	}
	if len(faults) > 0 {
		return nil, faults
	}
	catalog := validate.As[api.InstanceCatalog](&decoded)
	if catalog == nil {
		return nil, fmt.Errorf("%s: found %s, expected an InstanceCatalog", source, decoded.Object)
	}
	return catalog, nil
}
