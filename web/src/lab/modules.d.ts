declare module "*.toml" {
  const text: string;
  export default text;
}
declare module "*.wat" {
  const text: string;
  export default text;
}
