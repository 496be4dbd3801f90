package cli

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"flotilla/core/strict"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// view is an object with the moment it is looked at.
type view struct {
	object *unstructured.Unstructured
	now    time.Time
}

func (v view) field(path ...string) any {
	value, _, _ := unstructured.NestedFieldNoCopy(v.object.Object, path...)
	return value
}

func (v view) text(path ...string) string {
	s, _ := v.field(path...).(string)
	return s
}

func (v view) number(path ...string) int64 {
	switch n := v.field(path...).(type) {
	case int64:
		return n
	case float64:
		return int64(n)
	}
	return 0
}

func (v view) count(name string) int64 { return v.number("status", "counts", name) }

func (v view) usage(capacity, resource string) string {
	return v.text("status", "resourceUsage", capacity, resource)
}

func (v view) property(name, field string) string {
	if s := v.text("status", "properties", name, "value"); s != "" {
		return s
	}
	if n := v.number("status", field); n > 0 {
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
