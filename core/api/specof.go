package api

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// PointerTo is a pointer to the type of a kind.
type PointerTo[T any] interface {
	*T
	metav1.Object
	metav1.ObjectMetaAccessor
}

// SpecOf reads the object that a spec holds. What the head of the record says of its name, uid, generation and deletion
// goes before what is in the body.
func SpecOf[T any, P PointerTo[T]](s *Spec) (*T, error) {
	value := P(new(T))
	if err := json.Unmarshal(s.Body, value); err != nil {
		return nil, fmt.Errorf("decoding %s: %w", s.Object, err)
	}
	value.SetName(s.Object.Name)
	value.SetNamespace(s.Object.Namespace)
	value.SetUID(types.UID(s.UID))
	value.SetGeneration(s.Generation)
	value.SetDeletionTimestamp(s.Deleted)
	return value, nil
}
