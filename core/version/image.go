package version

import (
	"slices"
	"strings"

	"flotilla/core/api"
)

// Image is a node image: a family and a version that is comparable within it.
type Image struct {
	Family  string
	Version string // as written
	number  imageNumber
}

// imageNumber is a version as integers, normalised so that the older style 2022.12.13 compares with
// 202212.13.0.
type imageNumber [3]int

// ParseImage reads a full image name, "AKSUbuntu-2204gen2containerd-202401.09.0".
func ParseImage(name string) (Image, bool) {
	family, version, ok := api.NodeImageFamily(name)
	if !ok {
		return Image{}, false
	}
	return NewImage(family, version)
}

// NewImage makes an image of a family; false when its version cannot be read.
func NewImage(family, version string) (Image, bool) {
	number, ok := parseImageNumber(version)
	return Image{Family: family, Version: version, number: number}, ok
}

// parseImageNumber reads up to three integers; a year in front of the old style becomes year*100+month.
func parseImageNumber(version string) (imageNumber, bool) {
	numbers, ok := integers(strings.Split(version, "."))
	if !ok || len(numbers) < 2 || len(numbers) > 3 {
		return imageNumber{}, false
	}
	var n imageNumber
	copy(n[:], numbers)
	if first := n[0]; first >= 1000 && first <= 9999 && n[1] >= 1 && n[1] <= 12 && len(numbers) == 3 {
		n = imageNumber{first*100 + n[1], n[2], 0}
	}
	return n, true
}

// Name is the full image name.
func (i Image) Name() string { return i.Family + "-" + i.Version }

// IsZero reports whether i is no image at all.
func (i Image) IsZero() bool { return i.Family == "" }

// Relation is how two images compare.
type Relation string

// The relations of one image to another.
const (
	ImageOlder        Relation = "older"
	ImageEqual        Relation = "equal"
	ImageNewer        Relation = "newer"
	ImageIncomparable Relation = "incomparable" // of different families
	ImageUnknown      Relation = "unknown"      // one of them cannot be read
)

// CompareImages relates full image name a to b.
func CompareImages(a, b string) Relation {
	first, firstOK := ParseImage(a)
	second, secondOK := ParseImage(b)
	switch {
	case !firstOK || !secondOK:
		return ImageUnknown
	case first.Family != second.Family:
		return ImageIncomparable
	}
	switch first.Compare(second) {
	case -1:
		return ImageOlder
	case 1:
		return ImageNewer
	default:
		return ImageEqual
	}
}

// Compare orders images of one family: -1, 0 or 1.
func (i Image) Compare(j Image) int { return slices.Compare(i.number[:], j.number[:]) }
