package show

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"flotilla/core/strict"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// View is an object with the moment it is looked at.
type View struct {
	Object *unstructured.Unstructured
	now    time.Time
}

// Field is the value at a path, nil without one.
func (v View) Field(path ...string) any {
	value, _, _ := unstructured.NestedFieldNoCopy(v.Object.Object, path...)
	return value
}

// Text is the text at a path.
func (v View) Text(path ...string) string {
	s, _ := v.Field(path...).(string)
	return s
}

// Number is the number at a path.
func (v View) Number(path ...string) int64 {
	switch n := v.Field(path...).(type) {
	case int64:
		return n
	case float64:
		return int64(n)
	}
	return 0
}

// Count is one of the counts of a placement.
func (v View) Count(name string) int64 { return v.Number("status", "counts", name) }

func (v View) usage(capacity, resource string) string {
	return v.Text("status", "resourceUsage", capacity, resource)
}

func (v View) property(name, field string) string {
	if s := v.Text("status", "properties", name, "value"); s != "" {
		return s
	}
	if n := v.Number("status", field); n > 0 {
		return fmt.Sprint(n)
	}
	return ""
}

// cores shows a CPU quantity in cores, "44650m" as 44.6; what is no quantity stays as it is.
func cores(text string) string {
	q, err := strict.ParseQuantity(text)
	if err != nil {
		return text
	}
	return oneDecimal(q.AsApproximateFloat64())
}

// gibibytes shows a memory quantity in GiB, "78336Mi" as 76.5Gi.
func gibibytes(text string) string {
	q, err := strict.ParseQuantity(text)
	if err != nil {
		return text
	}
	return oneDecimal(q.AsApproximateFloat64()/(1<<30)) + "Gi"
}

// oneDecimal rounds down, so that nothing is shown as free that is not.
func oneDecimal(f float64) string {
	return strconv.FormatFloat(math.Floor(f*10)/10, 'f', -1, 64)
}
