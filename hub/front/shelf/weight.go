package shelf

// What values take in memory, in bytes, on a machine of 64 bits: a map has room for seven entries in each group of eight.
const (
	groupBytes   = 264
	mapBytes     = 48
	sliceBytes   = 24
	anyBytes     = 16
	perAllocated = 8
	leanBytes    = 256 // of an item beside its text
)

// weigh is about how many bytes of memory an object takes: of many small fields that is up to thirty times its text.
func weigh(value any) int64 {
	switch v := value.(type) {
	case map[string]any:
		sum := int64(mapBytes + groupBytes*(1+len(v)/8))
		for key, inner := range v {
			sum += int64(len(key)+perAllocated) + weigh(inner)
		}
		return sum
	case []any:
		sum := int64(sliceBytes + anyBytes*len(v))
		for _, inner := range v {
			sum += weigh(inner)
		}
		return sum
	case string:
		return int64(anyBytes + perAllocated + len(v))
	}
	return perAllocated
}
