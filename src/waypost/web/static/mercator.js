const MAX_LAT = 85.0511;

// why: the world is a square from 0,0 (north-west) to 1,1, so that a view is only a centre and a scale
export const mercX = (lon) => (lon + 180) / 360;
export function mercY(lat) {
  const held = clamp(lat, -MAX_LAT, MAX_LAT) * Math.PI / 180;
  return 0.5 - Math.log(Math.tan(Math.PI / 4 + held / 2)) / (2 * Math.PI);
}
export const lonAt = (x) => x * 360 - 180;
export const latAt = (y) => Math.atan(Math.sinh(Math.PI * (1 - 2 * y))) * 180 / Math.PI;

export function clamp(value, low, high) {
  return Math.max(low, Math.min(high, value));
}
