fn main(){ let a: Vec<String> = std::env::args().collect();
 if a[1]=="explain" { for n in &a[2..] { println!("{}", tailback_scenario::explain(n).unwrap_or("??".into())); } return }
 if a[1]=="names" { println!("{:#}", tailback_scenario::names()); return }
 if a[1]=="schema" { println!("{:#}", tailback_scenario::schema()); return }
 let t = std::fs::read_to_string(&a[1]).unwrap();
 let pairs: Vec<(String,String)> = a[2..].iter().filter_map(|s| s.split_once('=')).map(|(a,b)|(a.into(),b.into())).collect();
 match tailback_scenario::Scenario::from_toml(&t, &a[1]).and_then(|s| if pairs.is_empty() {Ok(s)} else {s.with_set(&pairs)}) { Ok(s)=>{ println!("{}", s.to_toml()); println!("{}\n{}", s.to_json(), s.hash()); let p = tailback_scenario::build(&s, 1, None); println!("{} nodes {} links {} flows", p.nodes.len(), p.links.len(), p.flows.len()); }, Err(e)=>println!("{e}") } }
