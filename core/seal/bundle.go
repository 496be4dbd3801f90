package seal

import (
	"encoding/binary"
	"fmt"
)

// formatBundle is the first byte of a bundle, so that it is not taken for something sealed, nor the other way round.
const formatBundle = 3

// BundleOverhead is by how many bytes at most a bundle is longer than its parts, for each of them.
const BundleOverhead = binary.MaxVarintLen32

// Bundle joins a head and bodies, each sealed with a key of its own, to one message: format, then each with its length
// in front. Who reads it opens the head, and what the head has keys of.
func Bundle(head []byte, bodies [][]byte) []byte {
	size := 1 + BundleOverhead + len(head)
	for _, body := range bodies {
		size += BundleOverhead + len(body)
	}
	out := append(make([]byte, 0, size), formatBundle)
	out = appendPart(out, head)
	for _, body := range bodies {
		out = appendPart(out, body)
	}
	return out
}

func appendPart(out, part []byte) []byte {
	return append(binary.AppendUvarint(out, uint64(len(part))), part...)
}

// Unbundle takes a bundle apart; what it returns lies in the same memory. ErrSealed for what is none, or was cut.
func Unbundle(bundle []byte) (head []byte, bodies [][]byte, err error) {
	if len(bundle) == 0 || bundle[0] != formatBundle {
		return nil, nil, fmt.Errorf("no bundle: %w", ErrSealed)
	}
	var parts [][]byte
	for rest := bundle[1:]; len(rest) > 0; {
		size, width := binary.Uvarint(rest)
		if width <= 0 || size > uint64(len(rest)-width) {
			return nil, nil, fmt.Errorf("part %d of a bundle: %w", len(parts), ErrSealed)
		}
		end := width + int(size)
		parts = append(parts, rest[width:end:end])
		rest = rest[end:]
	}
	if len(parts) == 0 {
		return nil, nil, fmt.Errorf("a bundle without a head: %w", ErrSealed)
	}
	return parts[0], parts[1:], nil
}
