module candela/tests/e2e/adx/strict

go 1.22

require github.com/prebid/openrtb/v20 v20.3.0
