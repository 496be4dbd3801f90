package contract

import (
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/core/api"
	"flotilla/core/apply"
)

// writeCases are about what is written, and what must not be.
var writeCases = map[string]func(*suite){
	"apply/what is written is there": func(s *suite) {
		object := s.config("web", map[string]any{"a": "1"})
		live := s.applied(object)
		read := s.get(apply.RefOf(object))
		require.Equal(s, map[string]any{"a": "1"}, read.Object["data"])
		require.NotEmpty(s, read.GetUID())
		require.Equal(s, live.GetUID(), read.GetUID())
		require.Equal(s, s.owner.String(), read.GetAnnotations()[api.AnnotationOwner])
		require.Equal(s, "d1", apply.DigestOf(read))
	},
	"apply/what is given is not changed": func(s *suite) {
		w := s.write(s.config("web", map[string]any{"a": "1"}), "d1")
		before := w.Object.DeepCopy()
		_, err := s.Target().Apply(s.Context(), w)
		require.NoError(s, err)
		require.Equal(s, before, w.Object)
	},
	"apply/what is not wanted any more goes": func(s *suite) {
		live := s.applied(s.config("web", map[string]any{"a": "1", "b": "2"}))
		next, err := s.Target().Apply(s.Context(), over(s.write(s.config("web", map[string]any{"a": "3"}), "d2"), live))
		require.NoError(s, err)
		require.Equal(s, map[string]any{"a": "3"}, next.Object["data"])
		require.Equal(s, live.GetUID(), next.GetUID())
		require.Equal(s, "d2", apply.DigestOf(next))
	},
	"apply/what others wrote stays": func(s *suite) {
		live := s.applied(s.config("web", map[string]any{"a": "1"}))
		s.Edit(apply.RefOf(live), set("theirs", "data", "b"))
		next, err := s.Target().Apply(s.Context(), over(s.write(s.config("web", map[string]any{"a": "2"}), "d2"), live))
		require.NoError(s, err)
		require.Equal(s, map[string]any{"a": "2", "b": "theirs"}, next.Object["data"])
	},
	"apply/labels and annotations of others stay": func(s *suite) {
		object := s.config("web", map[string]any{"a": "1"})
		object.SetLabels(map[string]string{"mine": "1"})
		live := s.applied(object)
		s.Edit(apply.RefOf(live), func(o *unstructured.Unstructured) {
			o.SetLabels(with(o.GetLabels(), "theirs", "yes"))
			o.SetAnnotations(with(o.GetAnnotations(), "theirs", "yes"))
		})
		object.SetLabels(map[string]string{"more": "2"})
		next, err := s.Target().Apply(s.Context(), over(s.write(object, "d2"), live))
		require.NoError(s, err)
		require.Equal(s, "yes", next.GetLabels()["theirs"])
		require.Equal(s, "2", next.GetLabels()["more"])
		require.NotContains(s, next.GetLabels(), "mine")
		require.Equal(s, "yes", next.GetAnnotations()["theirs"])
		require.Equal(s, s.owner.String(), next.GetAnnotations()[api.AnnotationOwner])
	},
	"apply/the same again changes nothing": func(s *suite) {
		object := s.config("web", map[string]any{"a": "1"})
		live := s.applied(object)
		again, err := s.Target().Apply(s.Context(), over(s.write(object, "d1"), live))
		require.NoError(s, err)
		require.Equal(s, live.GetUID(), again.GetUID())
		require.Equal(s, live.Object["data"], again.Object["data"])
		require.Empty(s, apply.Drifts(object, again))
	},
	"apply/an object of another uid is not written": func(s *suite) {
		object := s.config("web", map[string]any{"a": "1"})
		live := s.applied(object)
		w := s.write(s.config("web", map[string]any{"a": "2"}), "d2")
		w.UID = "another"
		_, err := s.Target().Apply(s.Context(), w)
		require.True(s, apierrors.IsConflict(err), "%v", err)
		require.Equal(s, live.Object["data"], s.get(apply.RefOf(object)).Object["data"])
	},
	"apply/an object that is gone is not written over": func(s *suite) {
		object := s.config("web", map[string]any{"a": "1"})
		live := s.applied(object)
		s.Remove(apply.RefOf(object))
		s.until(func() error { return s.gone(apply.RefOf(object)) })
		_, err := s.Target().Apply(s.Context(), over(s.write(object, "d1"), live))
		require.True(s, apierrors.IsConflict(err) || apierrors.IsNotFound(err), "%v", err)
		require.NoError(s, s.gone(apply.RefOf(object)))
	},
	"apply/another version is not written over": func(s *suite) {
		object := s.config("web", map[string]any{"a": "1"})
		live := s.applied(object)
		s.Edit(apply.RefOf(object), set("theirs", "data", "b"))
		w := over(s.write(s.config("web", map[string]any{"a": "2"}), "d2"), live)
		w.Version = live.GetResourceVersion()
		_, err := s.Target().Apply(s.Context(), w)
		require.True(s, apierrors.IsConflict(err), "%v", err)
		require.Equal(s, "1", field(s.get(apply.RefOf(object)), "data", "a"))
		w.Version = s.get(apply.RefOf(object)).GetResourceVersion()
		_, err = s.Target().Apply(s.Context(), w)
		require.NoError(s, err)
	},
	"apply/what appeared meanwhile is not taken over unseen": func(s *suite) {
		theirs := s.config("web", map[string]any{"a": "1"})
		s.Make(theirs)
		w := s.write(s.config("web", map[string]any{"a": "1", "b": "2"}), "d1")
		w.Exclusive, w.Force = true, true
		_, err := s.Target().Apply(s.Context(), w)
		require.True(s, apierrors.IsAlreadyExists(err), "%v", err)
		read := s.get(apply.RefOf(theirs))
		require.Equal(s, map[string]any{"a": "1"}, read.Object["data"])
		require.Empty(s, read.GetAnnotations()[api.AnnotationOwner])
	},
	"apply/what is made where nothing was is the agent's alone": func(s *suite) {
		w := s.write(s.config("web", map[string]any{"a": "1", "b": "2"}), "d1")
		w.Exclusive = true
		live, err := s.Target().Apply(s.Context(), w)
		require.NoError(s, err)
		next, err := s.Target().Apply(s.Context(), over(s.write(s.config("web", map[string]any{"a": "3"}), "d2"), live))
		require.NoError(s, err)
		require.Equal(s, map[string]any{"a": "3"}, next.Object["data"])
	},
	"apply/without its namespace nothing is written": func(s *suite) {
		object := s.config("web", nil)
		object.SetNamespace(s.ns + "-none")
		_, err := s.Target().Apply(s.Context(), s.write(object, "d1"))
		require.True(s, apierrors.IsNotFound(err), "%v", err)
	},
	"apply/of many objects those are found that are there": func(s *suite) {
		none := api.ObjectRef{APIVersion: "none.example.org/v1", Kind: "None", Namespace: s.ns, Name: "n"}
		var refs, there []api.ObjectRef
		for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
			object := s.config(name, map[string]any{"a": name})
			if refs = append(refs, apply.RefOf(object)); name < "d" {
				s.applied(object)
				there = append(there, apply.RefOf(object))
			}
		}
		s.Make(s.config("f", map[string]any{"a": "f"}))
		there = append(there, refs[5])
		for _, asked := range [][]api.ObjectRef{nil, refs[:2], append(refs, none)} {
			found, err := s.Target().Find(s.Context(), asked)
			require.NoError(s, err)
			var named []api.ObjectRef
			for _, object := range found {
				require.Equal(s, object.GetName(), field(object, "data", "a"))
				named = append(named, apply.RefOf(object))
			}
			require.ElementsMatch(s, there[:min(len(asked), len(there))], named)
		}
	},
	"apply/a kind that nobody defined is not there": func(s *suite) {
		_, err := s.Target().Get(s.Context(), api.ObjectRef{APIVersion: "none.example.org/v1", Kind: "None", Namespace: s.ns, Name: "n"})
		require.True(s, apierrors.IsNotFound(err), "%v", err)
	},
	"conflict/fields that others own are named with them": func(s *suite) {
		live := s.applied(s.config("web", map[string]any{"a": "1"}))
		s.Edit(apply.RefOf(live), set("theirs", "data", "a"))
		_, err := s.Target().Apply(s.Context(), over(s.write(s.config("web", map[string]any{"a": "2"}), "d2"), live))
		require.True(s, apierrors.IsConflict(err), "%v", err)
		var status apierrors.APIStatus
		require.ErrorAs(s, err, &status)
		require.Equal(s, []apply.Contest{{Field: ".data.a", Manager: Editor}}, apply.Contested(status.Status().Details))
		require.Equal(s, "theirs", field(s.get(apply.RefOf(live)), "data", "a"))
	},
	"conflict/all of several fields are named": func(s *suite) {
		live := s.applied(s.config("web", map[string]any{"a": "1", "b": "2", "c": "3"}))
		s.Edit(apply.RefOf(live), set("theirs", "data", "a"))
		s.Edit(apply.RefOf(live), set("theirs", "data", "c"))
		w := over(s.write(s.config("web", map[string]any{"a": "4", "b": "5", "c": "6"}), "d2"), live)
		_, err := s.Target().Apply(s.Context(), w)
		var status apierrors.APIStatus
		require.ErrorAs(s, err, &status)
		require.Equal(s, []apply.Contest{{Field: ".data.a", Manager: Editor}, {Field: ".data.c", Manager: Editor}}, apply.Contested(status.Status().Details))
		require.Equal(s, "2", field(s.get(apply.RefOf(live)), "data", "b"), "nothing of it is written")
		made, err := s.Target().Preview(s.Context(), w)
		require.NoError(s, err, "a preview is forced")
		require.Equal(s, map[string]any{"a": "4", "b": "5", "c": "6"}, made.Object["data"])
	},
	"conflict/a forced write takes them over": func(s *suite) {
		live := s.applied(s.config("web", map[string]any{"a": "1"}))
		s.Edit(apply.RefOf(live), set("theirs", "data", "a"))
		w := over(s.write(s.config("web", map[string]any{"a": "2"}), "d2"), live)
		w.Force = true
		_, err := s.Target().Apply(s.Context(), w)
		require.NoError(s, err)
		w.Force = false
		next, err := s.Target().Apply(s.Context(), w)
		require.NoError(s, err, "they are the agent's then")
		require.Equal(s, "2", field(next, "data", "a"))
	},
	"conflict/what others wrote alike is none": func(s *suite) {
		theirs := s.config("web", map[string]any{"a": "1"})
		s.Make(theirs)
		live := s.get(apply.RefOf(theirs))
		next, err := s.Target().Apply(s.Context(), over(s.write(s.config("web", map[string]any{"a": "1", "b": "2"}), "d1"), live))
		require.NoError(s, err)
		require.Equal(s, map[string]any{"a": "1", "b": "2"}, next.Object["data"])
	},
}

// set is an edit that sets a field.
func set(value any, path ...string) func(*unstructured.Unstructured) {
	return func(o *unstructured.Unstructured) {
		if err := unstructured.SetNestedField(o.Object, value, path...); err != nil {
			panic(err)
		}
	}
}
