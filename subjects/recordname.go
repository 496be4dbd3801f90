package subjects

import "strings"

// SpecPrefix begins the keys of what people wrote, in bucket state.
const SpecPrefix = "spec."

// RecordName is a record of bucket state as people know it, "placement web", by its key.
func RecordName(key string) string {
	if name, ok := ObjectSpecs.Name(key); ok {
		return objectName(name)
	}
	for _, r := range records {
		if name, ok := r.Family.Name(key); ok && r.Word != "" {
			return r.Word + " " + name
		}
	}
	return "record " + key
}

// objectName is "ConfigMap shop/a" of "|ConfigMap|shop|a".
func objectName(name string) string {
	parts := strings.Split(name, "|")
	if len(parts) != 4 {
		return "object " + name
	}
	if parts[2] == "" {
		return parts[1] + " " + parts[3]
	}
	return parts[1] + " " + parts[2] + "/" + parts[3]
}
