use super::*;
use crate::random::stream;
use crate::workload::sizes::tests::{assert_mean, assert_share, sample};
use proptest::prelude::*;

fn parse(text: &str) -> Result<CdfTable, String> {
    CdfTable::parse(text, Path::new("sizes.csv")).map_err(|f| f.to_string())
}

fn named(name: &str) -> Cdf {
    Cdf { name: Some(name.to_owned()), file: None }
}

#[test]
fn linear_and_step_read_the_same_rows_differently() {
    let rows = "size_bytes,cdf\n100,0.5\n300,1\n";
    let linear = parse(&format!("# interpolation: linear   mean_bytes: 150\n{rows}")).unwrap();
    let step = parse(&format!("# interpolation: step\n{rows}")).unwrap();
    // Linear: half of the mass at 100, half evenly on 100 to 300.
    assert_eq!(linear.mean(), Some(0.5 * 100.0 + 0.5 * 200.0));
    assert_eq!(step.mean(), Some(0.5 * 100.0 + 0.5 * 300.0));
    let quartiles = |table: &CdfTable| [0.0, 0.5, 0.75, 1.0].map(|u| whole_bytes(table.quantile(u)).0);
    assert_eq!(quartiles(&linear), [100, 100, 200, 300]);
    assert_eq!(quartiles(&step), [100, 100, 300, 300]);
}

#[test]
fn samples_agree_with_the_tables() {
    for (name, _) in BUILT_IN {
        assert_mean(&named(name), 200_000, 4.0);
    }
    let drawn = sample(&named("websearch_pfabric"), 100_000);
    // An atom of 15 % at 8760 bytes, then rows of the table, then the middle of a segment.
    assert_share(&drawn, 8_760.0, 0.15, 0.005);
    assert_share(&drawn, 77_380.0, 0.53, 0.006);
    assert_share(&drawn, f64::midpoint(973_820.0, 1_946_180.0), 0.75, 0.006);
    assert!(drawn[0] >= 8_760.0 && drawn[99_999] <= 29_200_000.0);
}

#[test]
fn errors_name_file_and_line() {
    let error = |text: &str| parse(text).unwrap_err();
    let linear = "# interpolation: linear\nsize_bytes,cdf\n";
    assert_eq!(error(linear), "sizes.csv: no rows: expected lines `size_bytes,cdf`");
    assert_eq!(error(""), "sizes.csv: no rows: expected lines `size_bytes,cdf`");
    assert_eq!(error(&format!("{linear}10,0.5\n5,1\n")), "sizes.csv:4: sizes must ascend: 5 comes after 10");
    assert_eq!(error(&format!("{linear}10,0.5\n20,0.4\n")), "sizes.csv:4: the cdf must ascend: 0.4 comes after 0.5");
    assert_eq!(error(&format!("{linear}10,0.5\n20,0.9\n\n")), "sizes.csv:4: the cdf must end at 1, not 0.9");
    assert_eq!(error(&format!("{linear}-10,0.5\n")), "sizes.csv:3: size must be from 0 to 1e15 bytes, not -10");
    assert_eq!(error(&format!("{linear}10,-0.5\n")), "sizes.csv:3: cdf must be from 0 to 1, not -0.5");
    assert_eq!(
        error(&format!("{linear}10,50\n")),
        "sizes.csv:3: cdf must be from 0 to 1, not 50\nhint: if the column is in per cent, divide it by 100"
    );
    assert_eq!(error(&format!("{linear}10,NaN\n")), "sizes.csv:3: cdf must be from 0 to 1, not NaN");
    assert_eq!(error(&format!("{linear}10;1\n")), "sizes.csv:3: expected two numbers `size_bytes,cdf`, found \"10;1\"");
    assert_eq!(
        error("# interpolation: cubic\n"),
        "sizes.csv:1: interpolation must be `linear` or `step`, not \"cubic\""
    );
    assert!(error("10,1\n").starts_with("sizes.csv: the rule of interpolation is missing\nhint: add a line"));
}

#[test]
fn objects_without_a_byte_are_refused_and_segments_may_begin_at_zero() {
    for rule in ["linear", "step"] {
        let error = parse(&format!("# interpolation: {rule}\n0,0.2\n100,1\n")).unwrap_err();
        assert!(error.starts_with("sizes.csv:2: a share of 0.2 of the objects has 0 bytes"), "{error}");
        assert!(error.contains("\nhint: leave these objects out"), "{error}");
        assert!(parse(&format!("# interpolation: {rule}\n0,0\n0,0.2\n100,1\n")).is_err());
        assert!(parse(&format!("# interpolation: {rule}\n0.5,0.2\n100,1\n")).is_err());
    }
    let table = parse("# interpolation: linear\n0,0\n100,1\n").unwrap();
    assert_eq!(table.mean(), Some(50.0));
}

#[test]
fn names_are_checked_and_files_are_found_relative_to_the_base() {
    let fault = named("websearch_fabric").check().remove(0);
    assert_eq!((fault.key.as_str(), fault.hint.as_deref()), ("name", Some("did you mean \"websearch_pfabric\"?")));
    assert_eq!(Cdf::default().check()[0].key, "");
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/workloads");
    let from_file = Cdf { name: None, file: Some("websearch_pfabric.csv".to_owned()) };
    assert_eq!(from_file.open(&data).unwrap().mean(), CdfTable::built_in("websearch_pfabric").unwrap().mean());
    let missing = Cdf { name: None, file: Some("nowhere.csv".to_owned()) }.open(&data).err().unwrap();
    assert_eq!(missing.key, "file");
    assert!(missing.message.contains("nowhere.csv"), "{missing}");
}

proptest! {
    #[test]
    fn any_text_gives_a_table_or_an_error(text in "(# interpolation: (linear|step)\n)?([-0-9.,eE#\n a-z]{0,80})") {
        if let Ok(table) = parse(&text) {
            let mut rng = stream(1, "sizes");
            prop_assert!(table.mean().unwrap() >= 1.0);
            prop_assert!(table.draw(&mut rng).unwrap().0 >= 1);
        }
    }

    #[test]
    fn quantiles_ascend_and_average_to_the_mean(
        mut sizes in prop::collection::vec(1_u32..1_000_000, 1..20), mut cdf in prop::collection::vec(0.0_f64..1.0, 20), step: bool
    ) {
        sizes.sort_unstable();
        cdf.truncate(sizes.len() - 1);
        cdf.sort_by(f64::total_cmp);
        cdf.push(1.0);
        let rule = if step { "step" } else { "linear" };
        let rows: Vec<String> = sizes.iter().zip(&cdf).map(|(s, c)| format!("{s},{c}")).collect();
        let rows = rows.join("\n");
        let table = parse(&format!("# interpolation: {rule}\n{rows}")).unwrap();
        let n = 20_000;
        let quantiles: Vec<f64> = (0..n).map(|i| table.quantile((f64::from(i) + 0.5) / f64::from(n))).collect();
        prop_assert!(quantiles.is_sorted());
        let average = quantiles.iter().sum::<f64>() / f64::from(n);
        let range = f64::from(*sizes.last().unwrap());
        // The midpoint rule errs by at most one cell per row.
        prop_assert!((average - table.mean().unwrap()).abs() <= 1.0 + range * 20.0 / f64::from(n));
    }
}
