package status

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// Every field of a status, however deep, makes two of them differ, and what is read back from JSON is the same.
func TestTwoStatusesAreTheSameWhenTheirJSONIs(t *testing.T) {
	full := func() *api.PlacementStatus {
		st := &api.PlacementStatus{}
		fill(reflect.ValueOf(st).Elem())
		return st
	}
	leaves := leavesOf(reflect.ValueOf(full()).Elem(), "status")
	require.Greater(t, len(leaves), 80)
	for _, name := range leaves {
		t.Run(name, func(t *testing.T) {
			other := full()
			change(reflect.ValueOf(other).Elem(), "status", name)
			requireAsJSON(t, full(), other, false)
		})
	}
	requireAsJSON(t, full(), full(), true)
	requireAsJSON(t, &api.PlacementStatus{}, &api.PlacementStatus{}, true)
	requireAsJSON(t, full(), &api.PlacementStatus{}, false)

	encoded, err := json.Marshal(full())
	require.NoError(t, err)
	var read api.PlacementStatus
	require.NoError(t, json.Unmarshal(encoded, &read))
	require.True(t, Same(full(), &read), "read back")
}

func requireAsJSON(t *testing.T, a, b *api.PlacementStatus, want bool) {
	t.Helper()
	encodedA, err := json.Marshal(a)
	require.NoError(t, err)
	encodedB, err := json.Marshal(b)
	require.NoError(t, err)
	require.Equal(t, want, string(encodedA) == string(encodedB), "%s and %s", encodedA, encodedB)
	require.Equal(t, want, Same(a, b))
	require.Equal(t, want, Same(b, a))
}

// fill gives every field a value: one entry to each list.
func fill(v reflect.Value) {
	if at, isTime := reflect.TypeAssert[*metav1.Time](v.Addr()); isTime {
		*at = metav1.NewTime(time.Date(2026, 7, 1, 12, 0, 0, 0, time.FixedZone("", 7200)))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for _, field := range v.Fields() {
			fill(field)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.String:
		v.SetString("a")
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Bool:
		v.SetBool(true)
	default:
		panic(v.Kind())
	}
}

func leavesOf(v reflect.Value, name string) []string {
	if _, isTime := reflect.TypeAssert[*metav1.Time](v.Addr()); isTime {
		return []string{name}
	}
	var all []string
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			all = append(all, leavesOf(v.Field(i), name+"."+v.Type().Field(i).Name)...)
		}
	case reflect.Slice:
		all = append([]string{name}, leavesOf(v.Index(0), name+"[0]")...)
	case reflect.Pointer:
		all = append([]string{name}, leavesOf(v.Elem(), name+"*")...)
	default:
		return []string{name}
	}
	return all
}

// change gives the leaf of a name another value; a list or pointer goes.
func change(v reflect.Value, name, leaf string) {
	at, isTime := reflect.TypeAssert[*metav1.Time](v.Addr())
	switch {
	case isTime && name == leaf:
		*at = metav1.NewTime(at.Add(time.Second))
	case isTime:
	case name == leaf && v.Kind() == reflect.String:
		v.SetString("b")
	case name == leaf && v.CanInt():
		v.SetInt(2)
	case name == leaf:
		v.SetZero()
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			change(v.Field(i), fmt.Sprintf("%s.%s", name, v.Type().Field(i).Name), leaf)
		}
	case v.Kind() == reflect.Slice:
		change(v.Index(0), name+"[0]", leaf)
	case v.Kind() == reflect.Pointer:
		change(v.Elem(), name+"*", leaf)
	}
}
