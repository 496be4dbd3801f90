package memory

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/agent/target/memory/fields"
	"flotilla/core/api"
	"flotilla/core/apply"
)

// planter and editor are the managers of what Plant and Edit write.
const planter, editor = "kubectl-create", "kubectl-edit"

// Plant makes or replaces an object by another hand than the agent's, that of kubectl-create. It is not in the history.
func (m *Member) Plant(object *unstructured.Unstructured) {
	m.mu.Lock()
	defer m.unlock()
	object = object.DeepCopy()
	s := m.objects[apply.IdentityOf(apply.RefOf(object))]
	if s == nil {
		fields.Note(planter, nil, object, m.clock.Now())
		m.store(object)
		return
	}
	fields.Note(planter, s.Object, object, m.clock.Now())
	m.replace(s, object)
}

// Edit changes a live object by another hand than the agent's, that of kubectl-edit; change gets a copy to work on. It
// reports whether there is such an object.
func (m *Member) Edit(ref api.ObjectRef, change func(*unstructured.Unstructured)) bool {
	m.mu.Lock()
	defer m.unlock()
	s := m.objects[apply.IdentityOf(ref)]
	if s == nil {
		return false
	}
	edited := s.Object.DeepCopy()
	change(edited)
	fields.Note(editor, s.Object, edited, m.clock.Now())
	m.replace(s, edited)
	return true
}

// Remove deletes a live object by another hand than the agent's. It reports whether there was one.
func (m *Member) Remove(ref api.ObjectRef) bool {
	m.mu.Lock()
	defer m.unlock()
	s := m.objects[apply.IdentityOf(ref)]
	if s == nil {
		return false
	}
	m.remove(s)
	m.pass()
	return true
}

// Objects lists every live object with its status, in order of creation; namespaces that every
// member has come first. It works while the member is down, too.
func (m *Member) Objects() []*unstructured.Unstructured {
	m.mu.Lock()
	defer m.unlock()
	var out []*unstructured.Unstructured
	for _, s := range m.sorted() {
		out = append(out, m.read(s))
	}
	return out
}
