//go:build !hale_next

package format

// upcoming are formats that this hale does not have. The tag hale_next builds one that has another, for the tests of
// upgrades.
var upcoming line
