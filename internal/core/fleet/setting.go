package fleet

// Setting is a word of the provider's own, which hale hands on without knowing what it means.
type Setting struct{ Name, Value string }
