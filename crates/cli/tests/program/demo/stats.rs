//! Statistics by a committee of processes.

use crate::common::{complaint, file, json};

/// A consensus of the Tor network, cropped to five relays.
const CONSENSUS: &str = include_str!("../../../../computation/tests/election/consensus");

#[test]
fn bandwidths_of_a_consensus_are_the_reports() {
    let directory = tempfile::tempdir().unwrap();
    let consensus = file(directory.path(), "consensus", CONSENSUS);
    let mut arguments = vec!["demo", "stats", "--reports", consensus.to_str().unwrap()];
    arguments.extend(["--minimum", "5", "--servers", "2", "--json"]);
    ["median", "sum"].iter().for_each(|statistic| arguments.extend(["--statistic", statistic]));
    let result = json(&arguments).remove(0);
    let bandwidths = CONSENSUS.lines().filter_map(|line| line.strip_prefix("w Bandwidth="));
    let number = |line: &str| line.split(' ').next()?.parse::<u64>().ok();
    let mut bandwidths: Vec<u64> = bandwidths.filter_map(number).collect();
    bandwidths.sort_unstable();
    assert_eq!((bandwidths.len(), &result["reports"]), (5, &5.into()));
    assert_eq!(result["answers"][0]["quantile"]["value"], bandwidths[2]);
    assert_eq!(result["answers"][1]["sum"], bandwidths.iter().sum::<u64>());
}

#[test]
fn statistics_of_a_file_are_right_and_bad_files_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let numbers: Vec<u64> = (0..40).map(|i| i * i % 97).collect();
    let lines: Vec<String> = numbers.iter().map(u64::to_string).collect();
    let reports = file(directory.path(), "reports", &lines.join("\n"));
    let reports = reports.to_str().unwrap();
    let asked = ["median", "mean", "quantile:900", "histogram:50,90"];
    let mut arguments = vec!["demo", "stats", "--servers", "4", "--json", "--reports", reports];
    asked.iter().for_each(|statistic| arguments.extend(["--statistic", statistic]));
    let result = json(&arguments).remove(0);
    let mut sorted = numbers.clone();
    sorted.sort_unstable();
    let answers = &result["answers"];
    assert_eq!(answers[0]["quantile"]["value"], sorted[19]);
    assert_eq!(answers[1]["sum"], numbers.iter().sum::<u64>());
    assert_eq!(answers[2]["quantile"]["value"], sorted[900 * 39 / 1000]);
    let below = |bound: u64| numbers.iter().filter(|number| **number < bound).count();
    let counts = [below(50), below(90) - below(50), 40 - below(90)];
    for (bin, count) in answers[3]["histogram"].as_array().unwrap().iter().zip(counts) {
        assert_eq!(bin["count"], count);
    }

    let refused = |text: &str, more: &[&str]| {
        let path = file(directory.path(), "bad", text);
        let given = ["demo", "stats", "--reports", path.to_str().unwrap()];
        complaint(&[&given[..], more].concat(), 1)
    };
    assert!(refused("1\n\nx\n", &[]).contains("line 3, \"x\""));
    assert!(refused("1\n-2\n", &[]).contains("line 2"));
    assert!(refused("1\n2\n", &[]).contains("8 more are needed"));
    assert!(refused(CONSENSUS, &[]).contains("5 reports, and 5 more are needed"));
    assert!(refused("1\n2\n", &["--statistic", "mode"]).contains("no statistic"));
    assert!(refused("1\n2\n", &["--statistic", "histogram:2,1"]).contains("ascending"));
}
