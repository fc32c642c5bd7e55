// Package openstack has the tests on a real OpenStack: the provider's exam, lost answers, and hale itself with a fleet
// on it.
//
// They are run by make test-openstack only, since the cloud takes hundreds of packages of the distribution. Its
// machines are Nova's word alone: nothing boots, and no address answers.
package openstack
