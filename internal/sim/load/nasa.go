package load

import (
	"slices"
	"time"
)

// hourly is how many requests the server of NASA's Kennedy Space Center answered in each hour of the week from Monday,
// 10 July to Sunday, 16 July 1995, by its log: counted from "NASA-HTTP", collected by Jim Dumoulin, and published by
// Martin Arlitt and Carey Williamson in the Internet Traffic Archive
// (https://ita.ee.lbl.gov/html/contrib/NASA-HTTP.html). On Thursday morning a space shuttle started.
var hourly = [7 * 24]float64{
	1839, 1522, 1298, 906, 785, 775, 1221, 1535, 2907, 3806, 4217, 4913,
	5034, 4466, 5101, 5314, 5140, 4540, 3463, 3227, 2805, 2729, 2820, 2497,
	1966, 1536, 1235, 1286, 1107, 1114, 1290, 2568, 3611, 3581, 4467, 4746,
	5504, 5325, 6062, 5607, 5544, 4484, 3921, 3619, 3279, 2796, 2870, 2887,
	2331, 1977, 2036, 1458, 1478, 1437, 1831, 2412, 3916, 4775, 5245, 6019,
	5972, 6454, 6292, 5557, 4997, 4711, 4372, 3581, 4168, 3743, 4044, 3730,
	3351, 3340, 2940, 2497, 2189, 2695, 3678, 6049, 11573, 14922, 10214, 9747,
	8534, 7331, 7473, 7298, 7151, 3584, 4550, 2269, 2366, 3682, 3350, 3421,
	3227, 2155, 1994, 1967, 1412, 1902, 1657, 2992, 3982, 4863, 5313, 4738,
	4834, 5625, 5120, 5312, 5301, 4157, 3140, 3332, 2824, 2709, 3021, 2525,
	1916, 1960, 1528, 1296, 1086, 950, 756, 1047, 1224, 1554, 2013, 2094,
	2276, 2283, 2603, 2607, 2641, 2511, 2124, 2306, 2095, 2026, 2294, 2343,
	2068, 2084, 1284, 844, 758, 561, 876, 742, 1011, 1395, 1646, 1965,
	2282, 2643, 3001, 2647, 2478, 2886, 2644, 3015, 2732, 2806, 3000, 2485,
}

// NASA is that week, with the greatest hour at peak.
func NASA(peak float64) Trace {
	most := slices.Max(hourly[:])
	t := Trace{Name: "nasa"}
	for i, n := range &hourly {
		t.Points = append(t.Points, Point{time.Duration(i)*time.Hour + 30*time.Minute, peak * n / most})
	}
	return t
}
