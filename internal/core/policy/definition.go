package policy

import (
	"hash/fnv"
	"reflect"
	"strconv"
)

// Definition names what the check asks, and what it takes for a good answer, in a few letters: two checks of one
// definition succeed together. Its name is no part of it, nor is how often it asks, how many results make it down or
// up, and when its failures count. What a later hale adds to a check changes it only where it is used.
func (c *Check) Definition() string {
	d := *c
	d.Name, d.Every, d.DownAfter, d.DownIn, d.UpAfter, d.UpIn, d.NotEvery, d.DependsOn = "", 0, 0, 0, 0, 0, nil, nil
	d.Tells = false
	h := fnv.New64a()
	for _, part := range parts(nil, "", reflect.ValueOf(d)) {
		h.Write([]byte(part)) // hash.Hash never fails to write
		h.Write([]byte{0})
	}
	return strconv.FormatUint(h.Sum64(), 16)
}

// parts lists what of the value is not zero, each with its place.
func parts(out []string, place string, v reflect.Value) []string {
	if v.IsZero() {
		return out
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			out = parts(out, place+"."+v.Type().Field(i).Name, v.Field(i))
		}
	case reflect.Slice:
		out = append(out, place+"#"+strconv.Itoa(v.Len()))
		for i := range v.Len() {
			out = parts(out, place+"."+strconv.Itoa(i), v.Index(i))
		}
	case reflect.String:
		out = append(out, place+"="+v.String())
	case reflect.Bool:
		out = append(out, place)
	case reflect.Uint8:
		out = append(out, place+"="+strconv.FormatUint(v.Uint(), 10))
	default:
		out = append(out, place+"="+strconv.FormatInt(v.Int(), 10))
	}
	return out
}
