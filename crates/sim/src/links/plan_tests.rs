use super::*;

fn plan(clusters: usize, shape: Shape) -> LinkPlan {
    LinkPlan {
        clusters,
        shape,
        ..LinkPlan::new(1, Sabotage::None)
    }
}

#[test]
fn links_of_each_shape() {
    type Links = &'static [(usize, usize)];
    let cases: [(usize, Shape, Links); 5] = [
        (3, Shape::Line, &[(0, 1), (1, 2)]),
        (2, Shape::Ring, &[(0, 1), (1, 0)]),
        (3, Shape::Ring, &[(0, 1), (1, 2), (2, 0)]),
        (2, Shape::Mesh, &[(0, 1), (1, 0)]),
        (
            3,
            Shape::Mesh,
            &[(0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1)],
        ),
    ];
    for (clusters, shape, expected) in cases {
        assert_eq!(
            plan(clusters, shape).links(),
            expected,
            "{clusters} {shape:?}"
        );
    }
}

#[test]
fn writes_reach_a_cluster_over_all_links_before_it() {
    let line = plan(3, Shape::Line);
    let cases: [(usize, &[usize]); 3] = [(0, &[0]), (1, &[1, 0]), (2, &[2, 1, 0])];
    for (to, expected) in cases {
        assert_eq!(line.reaching(to, &line.links()), expected);
    }
    assert_eq!(line.reaching(2, &[(0, 1)]), [2]);
    let ring = plan(3, Shape::Ring);
    assert_eq!(ring.reaching(0, &ring.links()), [0, 2, 1]);
}
