// A quadrotor's attitude in three dimensions.

import {
  BoxGeometry, Color, CylinderGeometry, DirectionalLight, GridHelper, Group, HemisphereLight, Mesh,
  MeshLambertMaterial, PerspectiveCamera, Scene, TorusGeometry, WebGLRenderer,
} from "three";
import { SVGRenderer } from "three/addons/renderers/SVGRenderer.js";

/** WebGL where there is one; drawn as vectors elsewhere. */
function makeRenderer(width: number, height: number): WebGLRenderer | SVGRenderer {
  try {
    const renderer = new WebGLRenderer({ antialias: true, alpha: true });
    renderer.setPixelRatio(Math.min(2, devicePixelRatio));
    renderer.setSize(width, height, false);
    return renderer;
  } catch {
    const renderer = new SVGRenderer();
    renderer.setSize(width, height);
    return renderer;
  }
}

export class QuadrotorScene {
  readonly element: Element;
  private readonly renderer: WebGLRenderer | SVGRenderer;
  private readonly scene = new Scene();
  private readonly camera: PerspectiveCamera;
  private readonly craft = new Group();

  constructor(width: number, height: number) {
    this.renderer = makeRenderer(width, height);
    this.element = this.renderer.domElement;
    this.element.classList.add("scene");
    if (this.element instanceof SVGElement) this.element.setAttribute("viewBox", `${-width / 2} ${-height / 2} ${width} ${height}`);
    this.element.setAttribute("aria-hidden", "true");
    this.camera = new PerspectiveCamera(32, width / height, 0.1, 20);
    this.camera.position.set(1.35, 0.85, 1.35);
    this.camera.lookAt(0, -0.04, 0);
    const sun = new DirectionalLight(new Color("#ffffff"), 2.2);
    sun.position.set(1, 3, 2);
    const grid = new GridHelper(2, 10, "#888888", "#888888");
    grid.position.y = -0.35;
    this.scene.add(sun, new HemisphereLight("#ffffff", "#777777", 1.6), grid, this.craft);
    this.build();
  }

  /** The body axes x, y, z of the model lie along three's x, z, -y: its z axis points down. */
  private build(): void {
    const blue = new MeshLambertMaterial({ color: "#0072b2" });
    const orange = new MeshLambertMaterial({ color: "#e69f00" });
    const grey = new MeshLambertMaterial({ color: "#8a8f98" });
    this.craft.add(new Mesh(new BoxGeometry(0.2, 0.08, 0.2), blue));
    const places: [number, number][] = [[1, 0], [0, 1], [-1, 0], [0, -1]];
    places.forEach(([x, z], i) => {
      const arm = new Mesh(new BoxGeometry(x ? 0.42 : 0.03, 0.025, z ? 0.42 : 0.03), grey);
      arm.position.set(0.21 * x, 0, 0.21 * z);
      const motor = new Mesh(new CylinderGeometry(0.03, 0.03, 0.06, 10), grey);
      motor.position.set(0.42 * x, 0.02, 0.42 * z);
      // The front rotor has the other colour, so that yaw can be seen.
      const rotor = new Mesh(new TorusGeometry(0.15, 0.012, 6, 28), i === 0 ? orange : blue);
      rotor.rotation.x = Math.PI / 2;
      rotor.position.set(0.42 * x, 0.05, 0.42 * z);
      this.craft.add(arm, motor, rotor);
    });
  }

  draw([roll, pitch, yaw]: number[]): void {
    // R = R_z(ψ) R_y(θ) R_x(φ) in the model's axes.
    this.craft.rotation.set(roll, -yaw, pitch, "YZX");
    this.renderer.render(this.scene, this.camera);
  }
}
